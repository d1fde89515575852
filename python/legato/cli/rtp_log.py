"""``legato rtp-log``: one call's packets as an RTP log of RFC 8868."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import legato
from legato import atomic

HELP = """
Write the packets of one call as an RTP log of RFC 8868, one line per packet: time, payload type, SSRC, sequence
number, timestamp, marker, payload bytes.

RTCP is between them, as this end sent or received it, with its packet type (200 and above) as payload type.
The run must have logged packets; `legato replay` makes a call again and logs them.

Examples:

```sh
legato rtp-log runs/replay-demo-17 0 > sender.log
legato rtp-log runs/replay-demo-17 0 --side receiver --out receiver.log
```
"""


def rtp_log(
    run: Annotated[Path, typer.Argument(help="A run folder with packets.", show_default=False)],
    call: Annotated[int, typer.Argument(help="The call's number in it.")] = 0,
    side: Annotated[str, typer.Option(help="Whose log: sender or receiver.")] = "sender",
    rtcp: Annotated[bool, typer.Option(help="With RTCP, both ways.")] = True,
    out: Annotated[Path | None, typer.Option(help="The file. [default: standard output]")] = None,
) -> None:
    lines = legato.rtp_log(run, call, side=side, rtcp=rtcp)
    if out is None:
        for line in lines:
            print(line)
        return
    atomic.write_text(out, "".join(f"{line}\n" for line in lines))
