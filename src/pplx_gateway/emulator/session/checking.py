"""Why an ask fails before anything is answered: each reason becomes a frame, and the HTTP status stays 200."""

from pplx_gateway.emulator.session import faults
from pplx_gateway.emulator.session.account import Account, kind_of
from pplx_gateway.emulator.session.asked import MAX_QUERY_CHARACTERS, Asked
from pplx_gateway.emulator.session.frames import Frame
from pplx_gateway.emulator.session.state import State


def failure_of(state: State, asked: Asked, account: Account | None) -> Frame | None:
    """The frame of the failure; None if the ask can be answered."""
    if len(asked.body.query_str) > MAX_QUERY_CHARACTERS:
        return faults.too_long()
    if not _handle_fits(state, asked, account) or not _files_fit(state, asked, account):
        return faults.generic()
    if asked.controls.fault == "quota_gone":
        return _quota_gone(asked, account)
    return _model_failure(state, asked, account) if account is not None else None


def _handle_fits(state: State, asked: Asked, account: Account | None) -> bool:
    """A follow-up needs a turn of the same account that has ended well; a token, if there is one, must be its own."""
    params = asked.body.params
    if params.last_backend_uuid is None:
        return True
    entry = state.entries.get(params.last_backend_uuid)
    if entry is None or entry.owner != owner_of(account) or entry.status != "COMPLETED":
        return False
    return params.read_write_token in (None, entry.read_write_token)


def _files_fit(state: State, asked: Asked, account: Account | None) -> bool:
    """Every attachment is an address whose file has really arrived."""
    wanted = set(asked.body.params.attachments)
    return not wanted or wanted <= {
        upload.attachment for upload in state.uploads if upload.owner == owner_of(account) and upload.arrived
    }


def owner_of(account: Account | None) -> str:
    """Whose turns and files are whose; nobody's are nobody else's."""
    return "" if account is None else account.key


def _quota_gone(asked: Asked, account: Account | None) -> Frame:
    """The fault, which is this question's alone: what is really left is read and used as before."""
    params = asked.body.params
    kind = kind_of(params.mode, params.model_preference) or "pro"
    return faults.quota_gone(kind, free=account is None or account.tier == "free")


def _model_failure(state: State, asked: Asked, account: Account) -> Frame | None:
    params = asked.body.params
    fit = state.models.fit(params.mode, params.model_preference, account)
    if fit == "above_tier":
        return faults.above_tier(params.model_preference)
    if fit != "fits":
        return faults.generic()
    kind = kind_of(params.mode, params.model_preference)
    if kind is None or account.left[kind] > 0:
        return None
    return faults.quota_gone(kind, free=account.tier == "free")
