"""For authors of judge adapters: what a judge must do, as tests that pytest runs on theirs.

In a test module of the adapter's own package::

    from datasheet.testing import JudgeConformance
    from my_package import MyJudge

    class TestMyJudge(JudgeConformance):
        def make_judge(self):
            return MyJudge(model="some-model", connections=8)

An adapter is offered to ``datasheet`` by an entry point, in the ``pyproject.toml`` of its package::

    [project.entry-points."judge_datasheet.judges"]
    mine = "my_package:MyJudge"

and asked as ``datasheet build --judge mine:some-model``. See :mod:`datasheet.judge.plugins` for how it is called, and
:class:`datasheet.judge.base.Judge` for what it is.
"""

from __future__ import annotations

from datasheet.testing.conformance import JudgeConformance
from datasheet.testing.requests import sample_request

__all__ = ["JudgeConformance", "sample_request"]
