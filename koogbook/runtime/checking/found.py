"""The findings of a check as a tuple that can be read."""

from __future__ import annotations

from koogbook.runtime.shape import FindingShape


class Findings(tuple[FindingShape, ...]):
    """What the check of a strategy found, errors first; its text has each finding with the line that mends it."""

    __slots__ = ()

    def __str__(self) -> str:
        if not self:
            return "Nothing to mend."
        told, lines = [f"{len(self)} to look at:"], set[str]()
        for finding in self:
            told.append(f"  - {finding.level}: {finding.text} {finding.remedy}")
            if finding.line and finding.line not in lines:  # two findings may have the same remedy
                told.append(f"        {finding.line}")
            lines.add(finding.line)
        return "\n".join(told)

    __repr__ = __str__
