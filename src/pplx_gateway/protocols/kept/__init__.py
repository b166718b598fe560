"""What callers keep upstream: files, batches and skills, each found again by whoever made it, and by nobody else."""
