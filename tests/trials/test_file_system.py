"""A log on a network file system is refused before it is written, and can be read."""

from __future__ import annotations

from pathlib import Path

import pytest
from trials.fake_judge import INSTRUMENT

from datasheet.errors import TrialLogError
from datasheet.trials import file_system
from datasheet.trials.file_system import file_system_type
from datasheet.trials.log import TrialLog
from datasheet.trials.merge import merge

LINE = "{number} 1 8:1 / {mount} rw,relatime shared:1 - {kind} {source} rw"


@pytest.fixture
def mounts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "mountinfo"
    monkeypatch.setattr(file_system, "MOUNTS", file)
    return file


def mounted(file: Path, *mounts: tuple[str | Path, str]) -> None:
    """Write the list of mounts as Linux does: blanks and the like in octal."""
    lines = ["not a line of this kind", ""]
    for number, (mount, kind) in enumerate(mounts):
        escaped = str(mount).replace(" ", r"\040")
        lines.append(LINE.format(number=number, mount=escaped, kind=kind, source="server:/export"))
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.mark.parametrize("kind", ["nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs", "lustre", "ceph"])
def test_a_log_on_a_network_file_system_is_refused(mounts: Path, tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "a share"
    folder.mkdir()
    mounted(mounts, ("/", "ext4"), (folder, kind))
    for use in (
        lambda: TrialLog.open(folder / "trials.sqlite", instrument=INSTRUMENT),
        lambda: merge([tmp_path / "one"] * 2, folder / "trials.sqlite"),
    ):
        TrialLog.open(tmp_path / "one", instrument=INSTRUMENT).close()
        with pytest.raises(TrialLogError, match=rf"on a network file system \({kind}\).*local disk"):
            use()
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs", "zfs", "overlay", "tmpfs", "apfs", "fuse.mergerfs"])
def test_a_log_on_a_local_file_system_is_not(mounts: Path, tmp_path: Path, kind: str) -> None:
    mounted(mounts, ("/", "nfs4"), (tmp_path, kind))
    TrialLog.open(tmp_path / "log", instrument=INSTRUMENT).close()


def test_a_sandbox_whose_own_disk_is_its_9p_root_may_write(mounts: Path, tmp_path: Path) -> None:
    mounted(mounts, ("/", "9p"))
    TrialLog.open(tmp_path / "trials.sqlite", instrument=INSTRUMENT).close()
    mounted(mounts, ("/", "nfs4"))
    with pytest.raises(TrialLogError, match="nfs4"):
        TrialLog.open(tmp_path / "other.sqlite", instrument=INSTRUMENT)


def test_the_innermost_mount_counts_and_of_two_on_one_folder_the_later(mounts: Path, tmp_path: Path) -> None:
    mounted(mounts, (tmp_path / "share", "nfs4"), (tmp_path, "ext4"), ("/", "xfs"), (tmp_path / "sha", "tmpfs"))
    assert file_system_type(tmp_path / "share" / "deep" / "trials.sqlite") == "nfs4"
    assert file_system_type(tmp_path / "shared.sqlite") == "ext4"
    assert file_system_type(Path("/elsewhere")) == "xfs"
    mounted(mounts, (tmp_path, "nfs4"), (tmp_path, "ext4"))
    assert file_system_type(tmp_path / "log") == "ext4"


def test_a_link_to_a_share_is_followed(mounts: Path, tmp_path: Path) -> None:
    (tmp_path / "share").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "share")
    mounted(mounts, ("/", "ext4"), (tmp_path / "share", "cifs"))
    assert file_system_type(tmp_path / "link" / "trials.sqlite") == "cifs"


def test_a_log_on_a_share_can_be_read(mounts: Path, tmp_path: Path) -> None:
    TrialLog.open(tmp_path / "log", instrument=INSTRUMENT).close()
    mounted(mounts, (tmp_path, "nfs4"))
    with TrialLog.read(tmp_path / "log") as log:
        assert log.verify() == []


def test_where_the_system_does_not_tell_nothing_is_refused(mounts: Path, tmp_path: Path) -> None:
    assert not mounts.exists()
    assert file_system_type(tmp_path) == ""
    TrialLog.open(tmp_path / "log", instrument=INSTRUMENT).close()


@pytest.mark.skipif(not Path("/proc/self/mountinfo").exists(), reason="this system does not tell its mounts")
def test_this_machine_tells_what_its_own_file_systems_are() -> None:
    assert file_system_type(Path("/proc/self")) == "proc"
