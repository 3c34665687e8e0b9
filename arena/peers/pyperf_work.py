"""One work as a pyperf benchmark.

Which one, and how much of it, stands in the environment: the command line is pyperf's. pyperf starts
this file again for every process that it measures in, and hands the environment on.
"""

import ctypes
import os
import time

import pyperf


def main():
    library = ctypes.CDLL(os.environ["ARENA_LIBRARY"])
    library.tenbin_work.argtypes = [ctypes.c_uint32, ctypes.c_uint64]
    library.tenbin_work.restype = ctypes.c_uint64
    index = int(os.environ["ARENA_WORK"])
    operations = int(os.environ["ARENA_OPERATIONS"])
    # Preparing a work takes time, and is no part of it.
    if library.tenbin_work(index, 0) != 0:
        raise SystemExit(f"cannot prepare the work number {index}")

    def measure(loops):
        # One call for all loops: what Python itself costs is no part of the work.
        started = time.perf_counter()
        failed = library.tenbin_work(index, loops * operations)
        elapsed = time.perf_counter() - started
        if failed:
            raise SystemExit(f"the work number {index} failed")
        return elapsed

    pyperf.Runner().bench_time_func("work", measure)


if __name__ == "__main__":
    main()
