# SPDX-License-Identifier: Apache-2.0
"""What programs of the tests of fork() begin with."""

PRELUDE = """
import faulthandler, gc, hashlib, io, json, os, random, signal, sys, threading, time, traceback
import numpy as np
import tricodec
import tricodec.io
faulthandler.enable()
def fork(work):
    "A child that runs work(); an alarm ends it where it hangs."
    child = os.fork()
    if child:
        return child
    signal.alarm(60)
    code = 1
    try:
        work()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
def in_children(work, count=1):
    "Runs work() in forked children at the same time."
    children = [fork(work) for _ in range(count)]
    statuses = [os.waitpid(child, 0)[1] for child in children]
    assert statuses == [0] * count, f"wait statuses {statuses}; 14 is a hang"
def raises(error, words, call):
    try:
        call()
    except error as raised:
        assert words in str(raised), raised
        return
    raise AssertionError("nothing was raised")
def md5(array):
    return hashlib.md5(np.ascontiguousarray(array).tobytes()).hexdigest()
"""
