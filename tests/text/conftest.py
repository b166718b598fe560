from hypothesis import settings

# On a busy machine a slow example is no defect.
settings.register_profile("untimed", parent=settings(), deadline=None)
settings.load_profile("untimed")
