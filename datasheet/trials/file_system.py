"""Whether a log lies on a network file system, whose locks and shared memory SQLite can't rely on.

Linux tells the type of each mounted file system in a file of its own; other systems do not, and there nothing is found.
"""

from __future__ import annotations

import re
from pathlib import Path

from datasheet.errors import TrialLogError

MOUNTS = Path("/proc/self/mountinfo")
NETWORK_TYPES = {
    "9p", "acfs", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs",
    "nfs4", "ocfs2", "orangefs", "panfs", "pvfs2", "smb3", "smbfs", "fuse.ceph", "fuse.davfs", "fuse.gcsfuse",
    "fuse.glusterfs", "fuse.goofys", "fuse.juicefs", "fuse.rclone", "fuse.s3fs", "fuse.smbnetfs", "fuse.sshfs",
}  # fmt: skip
_ESCAPED = re.compile(r"\\([0-7]{3})")


def refuse_network(path: Path) -> None:
    """Refuse to write a log where a second machine could write it too, and neither would see the other's lock.

    Raises
    ------
    TrialLogError
        The file's folder, or the next one above it that exists, is on a network file system.
    """
    kind = file_system_type(path)
    if kind in NETWORK_TYPES:
        raise TrialLogError(
            f"{path} would lie on a network file system ({kind}), where a trial log can't be locked, and may be "
            "damaged. Use an --out on a local disk, and copy the folder when the run has ended"
        )


def file_system_type(path: Path) -> str:
    """The type of the file system that a path is on (``"ext4"``, ``"nfs4"``), or "" where the system does not tell.

    A root that is 9p is a sandbox's own disk (gVisor), which no second machine writes: its type is "".
    """
    try:
        lines = MOUNTS.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return ""
    place = path.resolve()
    depth, kind = 0, ""
    for line in lines:
        before, _, after = line.partition(" - ")
        fields, said = before.split(), after.split()
        if len(fields) < 5 or not said:
            continue
        mount = Path(_ESCAPED.sub(lambda octal: chr(int(octal[1], 8)), fields[4]))
        # Of two mounts on one folder the later one hides the other.
        if place.is_relative_to(mount) and len(mount.parts) >= depth:
            depth, kind = len(mount.parts), said[0]
    return "" if kind == "9p" and depth == 1 else kind
