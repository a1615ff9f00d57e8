# SPDX-License-Identifier: Apache-2.0
"""What the long tests of reliability counted: one row a subject in results/reliability.csv, and the table of them.

The tests themselves record() what they did; docs/explanation/reliability.md shows it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from benchmarks import results
from benchmarks.environment import environment
from benchmarks.goals import header, line

PATH = results.FOLDER / "reliability.csv"


@dataclasses.dataclass(frozen=True)
class Trial:
    """The last run of one long test.

    Attributes:
        subject: what was tried.
        count: how many inputs, requests or calls; 0 if it has not run.
        unit: of the count.
        seconds: how long it took.
        failures: crashes, hangs, wrong answers and unexpected errors.
        date: of the run, empty if it has not run.
        commit: that was tried.
        how: the command that does it again.
        note: in words.
    """

    subject: str
    count: int = 0
    unit: str = ""
    seconds: int = 0
    failures: int = 0
    date: str = ""
    commit: str = ""
    how: str = ""
    note: str = ""


def recorded(trials: Iterable[Trial], new: Trial) -> list[Trial]:
    """The trials with a new one in the place of that of its subject, or at the end."""
    kept = list(trials)
    places = [place for place, trial in enumerate(kept) if trial.subject == new.subject]
    if places:
        kept[places[0]] = new
    else:
        kept.append(new)
    return kept


def record(subject: str, count: int, unit: str, seconds: float, failures: int, how: str, note: str = "") -> None:
    """Writes what a long test did on this machine, in place of its last run."""
    facts = environment(seconds)
    trial = Trial(
        subject, count, unit, round(seconds), failures, str(facts["date"])[:10], str(facts["commit"])[:12], how, note
    )
    known = results.read(PATH, Trial)[1] if PATH.is_file() else []
    machine = {name: facts[name] for name in ("cpu", "cores", "kernel", "libraries")}
    results.write(PATH, machine, recorded(known, trial))


def _duration(seconds: int) -> str:
    return f"{seconds} s" if seconds < 120 else f"{round(seconds / 60)} min"


def table(facts: Mapping[str, str], trials: Iterable[Trial]) -> str:
    """A line a subject: how much was tried, for how long, what failed, when, and by which command."""
    lines = [header(["what", "tried", "for", "failures", "date", "again by"])]
    for trial in trials:
        what = f"{trial.subject}: {trial.note}" if trial.note else trial.subject
        if not trial.date:
            lines.append(line([what, "not run", "", "", "", f"`{trial.how}`"]))
            continue
        tried = f"{trial.count:,} {trial.unit}"
        lines.append(line([what, tried, _duration(trial.seconds), str(trial.failures), trial.date, f"`{trial.how}`"]))
    return f"{facts['cores']} cores of an {facts['cpu']}:\n\n{''.join(lines)}"
