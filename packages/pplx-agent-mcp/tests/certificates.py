"""Certificates for the tests, made anew by the `openssl` command: the standard library cannot make any."""

import shutil
import subprocess
from pathlib import Path

_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
_EXTENSIONS = """\
basicConstraints=critical,CA:FALSE
keyUsage=critical,digitalSignature
extendedKeyUsage=serverAuth
subjectAltName=DNS:{host}
subjectKeyIdentifier=hash
authorityKeyIdentifier=keyid
"""


def _program() -> str:
    found = shutil.which("openssl")
    assert found, "the tests need the openssl command (on Debian: apt-get install openssl)"
    return found


def _openssl(folder: Path, *arguments: str) -> None:
    subprocess.run([_program(), *arguments], cwd=folder, check=True, capture_output=True, timeout=60)


def make(folder: Path, host: str) -> tuple[Path, Path]:
    """A certificate authority, and a chain with its key for `host`. Returns the authority's file and the chain's."""
    (folder / "ca.cnf").write_text(
        "[req]\ndistinguished_name=name\nx509_extensions=ca\nprompt=no\n[name]\nCN=Test CA\n"
        "[ca]\nbasicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign\nsubjectKeyIdentifier=hash\n"
    )
    (folder / "host.cnf").write_text(f"[req]\ndistinguished_name=name\nprompt=no\n[name]\nCN={host}\n")
    (folder / "host.ext").write_text(_EXTENSIONS.format(host=host))
    _openssl(folder, "req", "-x509", *_KEY, "-keyout", "ca.key", "-out", "ca.pem", "-days", "30", "-config", "ca.cnf")
    _openssl(folder, "req", "-new", *_KEY, "-keyout", "host.key", "-out", "host.csr", "-config", "host.cnf")
    signing = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "host.ext", "-days", "30")
    _openssl(folder, "x509", "-req", "-in", "host.csr", "-out", "host.crt", *signing)
    chain = folder / "chain.pem"
    chain.write_text((folder / "host.key").read_text() + (folder / "host.crt").read_text())
    return folder / "ca.pem", chain
