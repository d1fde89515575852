"""Two network namespaces with the link between their TUN devices: for programs that are to send into a real network
interface, like two browsers with separate addresses, or anything else.

The native module makes them and holds them as open files, so they have no names and go with this process; programs are
put in by ``nsenter``. A process that is still in one would keep it, so one guard (:mod:`legato.call.guard`) ends all of
them, however this process ends. Linux only, for the superuser.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from legato import _core
from legato.call import guard
from legato.errors import CallError

if TYPE_CHECKING:
    from legato._core import TunPair

HINT = "it takes Linux, the superuser, /dev/net/tun and nsenter (util-linux): legato call --check"


@dataclass(frozen=True)
class Host:
    """One of the two namespaces."""

    descriptor: int
    """The open file that stands for it."""
    address: str
    peer: str
    """The other one's address."""
    folder: Path
    """For files that are gone with the namespace."""

    def command(self, words: Sequence[str]) -> list[str]:
        """A command line that runs ``words`` in it; the process is the same from its beginning on."""
        return ["nsenter", f"--net=/proc/{os.getpid()}/fd/{self.descriptor}", "--", *words]

    def script(self, program: str) -> Path:
        """A file that runs the program in it, with the arguments it is given."""
        file = self.folder / f"{self.address}-{Path(program).name}"
        file.write_text(f'#!/bin/sh\nexec {shlex.join(self.command([program]))} "$@"\n', encoding="utf-8")
        file.chmod(0o700)
        return file


@dataclass(frozen=True)
class Pair:
    """Both, and what the link is put between."""

    native: TunPair
    near: Host
    far: Host

    def end_programs(self, patience_s: float = 0.0) -> None:
        """End all processes in them, as :func:`legato.call.guard.end` does."""
        guard.end([self.near.descriptor, self.far.descriptor], patience_s)


@contextmanager
def opened() -> Iterator[Pair]:
    """Both namespaces; after the block nothing of them is left.

    Raises:
        CallError: not on this system, or not for this user.
    """
    if not hasattr(_core, "TunPair"):
        raise CallError(
            "this build of Legato has no links between namespaces", hint="build it with the feature `calls`"
        )
    if shutil.which("nsenter") is None:
        raise CallError("there is no nsenter, which starts programs in network namespaces", hint=HINT)
    try:
        native = _core.TunPair()
    except CallError as error:
        raise CallError(f"no link between network namespaces: {error}", hint=HINT) from None
    (near, near_address), (far, far_address) = native.hosts
    folder = Path(tempfile.mkdtemp(prefix="legato-"))
    pair = Pair(native, Host(near, near_address, far_address, folder), Host(far, far_address, near_address, folder))
    command = [sys.executable, "-I", "-S", guard.__file__, str(folder), str(near), str(far)]
    quiet = subprocess.DEVNULL
    try:
        # A separate session: Ctrl-C in the terminal is not for it.
        watching = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet, pass_fds=(near, far), start_new_session=True
        )
        try:
            yield pair
        finally:
            pair.end_programs()
            watching.communicate()
    finally:
        native.close()


def problem() -> str | None:
    """Why there can be none here; ``None``: there can."""
    try:
        with opened():
            return None
    except CallError as error:
        return str(error)
