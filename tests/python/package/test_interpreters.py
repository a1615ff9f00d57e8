# SPDX-License-Identifier: Apache-2.0
"""Interpreters other than the main one with its lock: the import is refused by name, and nothing hangs."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

SECONDS = 120


def run(script: str) -> str:
    """What a new process of Python prints."""
    command = [sys.executable, "-c", textwrap.dedent(script)]
    process = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
    assert process.returncode == 0, process.stderr
    return process.stdout


SUB_INTERPRETER = """
    import sys
    try:
        import _xxsubinterpreters as interpreters
    except ImportError:
        import _interpreters as interpreters

    {before}
    script = f'''
    import sys
    sys.path[:] = {{sys.path!r}}
    try:
        import {module}
    except ImportError as error:
        print(error, flush=True)
    '''
    one = interpreters.create()
    interpreters.run_string(one, script)
    interpreters.destroy(one)
    {after}
"""


@pytest.mark.parametrize("module", ["tricodec", "tricodec.io", "PyNvVideoCodec"])
def test_a_sub_interpreter_is_refused_by_name(module: str) -> None:
    printed = run(SUB_INTERPRETER.format(module=module, before="", after=""))

    assert "tricodec cannot be imported in a sub-interpreter" in printed


def test_a_python_without_its_lock_is_refused_by_name() -> None:
    # A stand-in for a free-threaded Python that was told to keep its lock off (-X gil=0).
    printed = run(
        """
        import sys

        sys._is_gil_enabled = lambda: False
        try:
            import tricodec
        except ImportError as error:
            print(error)
        """
    )

    assert "tricodec needs the global interpreter lock" in printed
