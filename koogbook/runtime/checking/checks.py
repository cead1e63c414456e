"""Whether a strategy can run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from koogbook.errors import StrategyCheckError
from koogbook.runtime.cells import withdraw_so_far
from koogbook.runtime.checking.findings import findings_of
from koogbook.runtime.checking.found import Findings
from koogbook.runtime.shape import FindingShape

if TYPE_CHECKING:
    from koogbook.runtime.builder import Strategy


def check(strategy: Strategy) -> Findings:
    """The findings of a strategy with its subgraphs, errors first.

    What the running notebook cell does not define any more is withdrawn before.
    """
    withdraw_so_far(strategy)
    return Findings(sorted(findings_of(strategy), key=lambda finding: finding.level != "error"))


def require_runnable(strategy: Strategy) -> tuple[FindingShape, ...]:
    """The findings of a strategy that can run: warnings alone.

    Raises:
        StrategyCheckError: The check found errors; the message names each node and remedy.
    """
    findings = check(strategy)
    errors = [finding for finding in findings if finding.level == "error"]
    if errors:
        listed, lines = "", set[str]()
        for finding in errors:
            listed += f"\n  - {finding.text} {finding.remedy}"
            if finding.line and finding.line not in lines:  # two findings may have the same remedy
                listed += f"\n        {finding.line}"
            lines.add(finding.line)
        for finding in findings:
            if finding.kind == "defined_twice":  # what an edge too many or too few may come of
                listed += f"\n  - Note that {finding.text} {finding.remedy}"
        raise StrategyCheckError(
            f"Strategy {strategy.name!r} cannot run yet, {len(errors)} to do:{listed}",
            findings=findings,
        )
    return findings
