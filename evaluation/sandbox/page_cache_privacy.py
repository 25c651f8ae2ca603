"""Caches of files that players share, made to say nothing of what a player read or looked for.

It is also a program by itself, for a container of the base image: `python3 -c SOURCE SWITCH DIRECTORY...`.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

DROP_CACHES = "/proc/sys/vm/drop_caches"
"""The kernel's switch for that; see proc_sys_vm(5)."""

_NAMES_AND_INODES = "2"
_PIECE = 1 << 20
_MAP_SHARED = 1
_PROT_READ = 1
_CACHESTAT = 451
"""The system call of Linux 6.5 that counts the cached pages of a file; elsewhere no call, which fails."""

_WHOLE_FILE = (ctypes.c_uint64 * 2)()
"""From its first byte, to its end."""

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]
_libc.syscall.restype = ctypes.c_long
_libc.syscall.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint]
_FAILED = ctypes.c_void_p(-1).value


def level_page_cache(trees: Iterable[str]) -> int:
    """Leave every regular file in `trees` entirely out of the page cache, or entirely in it; return their number.

    The kernel keeps pages that a living process maps. A file with such pages is read to its end, so that its other
    pages say nothing either. Files that this user may not open are left out; where the user may not ask about a
    file's pages, they are only dropped.
    """
    count = 0
    seen: set[tuple[int, int]] = set()
    for path in _files(trees):
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            continue
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode) or (found.st_dev, found.st_ino) in seen:
                continue
            if found.st_nlink > 1:
                seen.add((found.st_dev, found.st_ino))
            count += 1
            if not found.st_size:
                continue
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            # a file of one page is in the cache or out of it as a whole; most files of a host are
            if found.st_size > mmap.PAGESIZE and _may_ask(found) and _has_pages(descriptor, found.st_size):
                while os.read(descriptor, _PIECE):
                    pass
        except OSError:
            continue
        finally:
            os.close(descriptor)
    return count


def forget_names(switch: str = DROP_CACHES) -> bool:
    """Let the kernel forget which names it looked up, also those that do not exist; return False if it may not.

    It remembers them for all programs, and the clock tells which. Only root of the host may do it.
    """
    try:
        with open(switch, "w") as file:  # noqa: PTH123 - also a program by itself, without the engine's packages
            file.write(_NAMES_AND_INODES)
    except OSError:
        return False
    return True


def resident_pages(descriptor: int, size: int) -> bytes:
    """Return one byte for each page of an open file: 1 where the page cache holds it.

    The kernel tells the truth to root, to the file's owner, and to those who may write it.
    """
    pages = -(-size // mmap.PAGESIZE)
    address = _libc.mmap(None, size, _PROT_READ, _MAP_SHARED, descriptor, 0)
    if address == _FAILED:
        raise OSError(ctypes.get_errno(), "mmap")
    try:
        answer = (ctypes.c_char * pages)()
        if _libc.mincore(address, size, answer):
            raise OSError(ctypes.get_errno(), "mincore")
    finally:
        _libc.munmap(address, size)
    return answer.raw  # the other bits are reserved, and 0


def _has_pages(descriptor: int, size: int) -> bool:
    """Return True if the page cache holds a page of an open file. Raise `OSError` if the kernel does not tell.

    To count pages takes the kernel less time than to map a file, and a host has a hundred thousand files.
    """
    counts = (ctypes.c_uint64 * 5)()
    if _libc.syscall(_CACHESTAT, descriptor, _WHOLE_FILE, counts, 0):  # an older kernel, or a container without it
        return 1 in resident_pages(descriptor, size)
    return counts[0] > 0


def _may_ask(found: os.stat_result) -> bool:
    return os.geteuid() in (0, found.st_uid)


def _files(trees: Iterable[str]) -> Iterator[str]:
    for tree in trees:
        if Path(tree).is_file():
            yield tree
        for directory, _, names in os.walk(tree):
            for name in names:
                yield f"{directory}/{name}"


if __name__ == "__main__":
    switch, *places = sys.argv[1:]
    sys.stdout.write(f"{level_page_cache(places)} {forget_names(switch)}\n")
