"""The command line: one file a command group, and exit codes in one table.

====  =====================================================================================
0     done; a sheet with some undetermined rows is done
1     a gate or a selftest failed
2     wrong usage, bad input or environment: any DatasheetError
3     nothing could be concluded
4     stopped in a resumable state: the same command goes on
130   interrupted by the user; resumable
====  =====================================================================================
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from datasheet import __version__
from datasheet.cli.analyze import analyze
from datasheet.cli.build import build
from datasheet.cli.console import (
    EXIT_INTERRUPTED,
    EXIT_USAGE,
    complain,
    complain_of_usage,
    let_go_of_stdout,
    prepare,
)
from datasheet.cli.documents import render, show
from datasheet.cli.init import init
from datasheet.cli.judges import judges
from datasheet.cli.log import log
from datasheet.cli.selftest import selftest
from datasheet.cli.stimuli import stimuli
from datasheet.errors import DatasheetError

__all__ = ["datasheet", "main"]


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="datasheet")
def datasheet() -> None:
    """The instrument sheet of an LLM judge: what it does, measured before anyone believes a reading of it.

    \b
    datasheet build                          a sheet of the embedded simulated judge
    datasheet build --judge qwen32b          a sheet of a judge behind an OpenAI-compatible server
    datasheet analyze verdicts.jsonl         the same analysis of verdicts made elsewhere
    """


for command in (build, analyze, render, show, selftest, init, stimuli, judges, log):
    datasheet.add_command(command)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit; every error of ours is one message on stderr and exit code 2."""
    prepare()
    try:
        code = datasheet.main(args=arguments, standalone_mode=False)
    except click.exceptions.Exit as stop:
        code = stop.exit_code
    except click.ClickException as problem:
        complain_of_usage(problem)
        code = EXIT_USAGE
    except DatasheetError as problem:
        complain(str(problem))
        code = EXIT_USAGE
    except SystemExit:
        # click's own way with a reader that went away while it printed help; our output takes care of itself.
        let_go_of_stdout()
        code = 0
    except OSError as problem:
        let_go_of_stdout()
        complain(f"the output can't be written: {problem.strerror}")
        code = EXIT_USAGE
    except (click.Abort, KeyboardInterrupt):
        complain("interrupted: a build keeps what was answered, and the same command goes on")
        code = EXIT_INTERRUPTED
    sys.exit(code if isinstance(code, int) else 0)
