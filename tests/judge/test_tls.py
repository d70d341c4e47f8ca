"""Certificates: who is trusted, what the client shows, and what a sheet says where nothing was verified."""

from __future__ import annotations

import ssl
import subprocess
import sys
from pathlib import Path

import pytest
import trustme
from asking import ask, judge_of
from cryptography.hazmat.primitives import serialization
from loopback import LoopbackServer

from datasheet.errors import PermanentJudgeError, UsageError
from datasheet.judge.tls import Tls


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> tuple[trustme.CA, Path]:
    """A certificate authority of one's own, and a folder with its certificate, and one for a client."""
    authority, folder = trustme.CA(), tmp_path_factory.mktemp("tls")
    client = authority.issue_cert("client@judge.example")
    authority.cert_pem.write_to_path(folder / "ca.pem")
    client.cert_chain_pems[0].write_to_path(folder / "client.pem")
    client.private_key_pem.write_to_path(folder / "client.key")
    client.private_key_and_cert_chain_pem.write_to_path(folder / "both.pem")
    return authority, folder


def serving(authority: trustme.CA, *, name: str = "127.0.0.1", asks: bool = False) -> LoopbackServer:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name).configure_cert(context)
    if asks:
        context.verify_mode = ssl.CERT_REQUIRED
        authority.configure_trust(context)
    return LoopbackServer(tls=context)


def test_an_unknown_authority_is_not_trusted(authority: tuple[trustme.CA, Path]) -> None:
    with serving(authority[0]) as server, pytest.raises(PermanentJudgeError, match=r"certificate of .* not trusted"):
        ask(server)


def test_an_authority_of_ones_own_is_trusted_and_told(authority: tuple[trustme.CA, Path]) -> None:
    tls = Tls(ca_file=str(authority[1] / "ca.pem"))
    with serving(authority[0]) as server:
        assert ask(server, tls=tls).text == "[[A]]"
        assert judge_of(server, tls=tls).provenance["tls"] == "verified by an authority of the user's own"
        assert "tls" not in judge_of(server).provenance
    with serving(authority[0], name="other.example") as server, pytest.raises(PermanentJudgeError, match="not trusted"):
        ask(server, tls=tls)


def test_without_verification_any_certificate_will_do_and_provenance_says_so(
    authority: tuple[trustme.CA, Path],
) -> None:
    with serving(authority[0], name="other.example") as server:
        assert ask(server, tls=Tls(verify=False)).text == "[[A]]"
        assert judge_of(server, tls=Tls(verify=False)).provenance["tls"] == (
            "the server's certificate was not verified"
        )


@pytest.mark.parametrize("files", [{"certificate": "client.pem", "key": "client.key"}, {"certificate": "both.pem"}])
def test_a_server_may_ask_for_the_client_s_certificate(authority: tuple[trustme.CA, Path], files: dict) -> None:
    paths = {name: str(authority[1] / file) for name, file in {"ca_file": "ca.pem", **files}.items()}
    with serving(authority[0], asks=True) as server:
        assert ask(server, tls=Tls(**paths)).text == "[[A]]"
        with pytest.raises(PermanentJudgeError, match="failed"):
            ask(server, tls=Tls(ca_file=paths["ca_file"]))


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"ca_file": "none.pem"}, "ca_file names a file that does not exist"),
        ({"ca_file": "text.pem"}, "text.pem can't be used"),
        ({"ca_file": "client.key"}, "client.key can't be used"),
        ({"certificate": "client.pem"}, "client.pem can't be used"),
        ({"certificate": "client.pem", "key": "other.key"}, "client.pem can't be used"),
        ({"certificate": "client.pem", "key": "none.key"}, "does not exist, or the key beside it does"),
        ({"key": "client.key"}, "a key needs the certificate"),
    ],
)
def test_files_that_can_not_be_used_are_named(authority: tuple[trustme.CA, Path], files: dict, said: str) -> None:
    folder = authority[1]
    (folder / "text.pem").write_text("no certificate")
    authority[0].issue_cert("x.example").private_key_pem.write_to_path(folder / "other.key")
    with pytest.raises(UsageError, match=said):
        Tls(**{name: str(folder / file) for name, file in files.items()}).context()


def test_an_encrypted_key_is_refused_and_nobody_is_asked_for_its_password(
    authority: tuple[trustme.CA, Path],
) -> None:
    folder = authority[1]
    key = serialization.load_pem_private_key((folder / "client.key").read_bytes(), None)
    locked = serialization.BestAvailableEncryption(b"secret")
    pem, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    (folder / "locked.key").write_bytes(key.private_bytes(pem, form, locked))
    settings = {"certificate": str(folder / "client.pem"), "key": str(folder / "locked.key")}
    with pytest.raises(UsageError, match="a key without a password"):
        Tls(**settings).context()
    # On a terminal, where OpenSSL would ask.
    code = f"from datasheet.judge.tls import Tls; Tls(**{settings!r}).context()"
    terminal = f"import pty; pty.spawn([{sys.executable!r}, '-c', {code!r}])"
    run = subprocess.run([sys.executable, "-c", terminal], input="\n", capture_output=True, text=True, timeout=60)
    assert "a key without a password" in run.stdout
    assert "pass phrase" not in run.stdout
