"""The guard: a small process beside the embedded server that stops it when no process uses it any more.

A killed process cannot stop the server itself. The guard runs this file with the standard library only, so it takes little memory and starts fast.
"""

import fcntl
import os
import subprocess
import sys
from pathlib import Path


def wait_until_unused(users: int, mutex: int) -> None:
    """Return holding `mutex`, at a moment when no process holds `users`."""
    while True:
        fcntl.flock(users, fcntl.LOCK_EX)
        # Released before waiting for the mutex: a new user holds the mutex while it waits for a share of `users`.
        fcntl.flock(users, fcntl.LOCK_UN)
        fcntl.flock(mutex, fcntl.LOCK_EX)
        try:
            fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            fcntl.flock(mutex, fcntl.LOCK_UN)
        else:
            return


def server_runs(pgdata: Path) -> bool:
    """Return whether the process in postmaster.pid is the server; `pg_ctl` would send its signal to any process."""
    try:
        pid = (pgdata / "postmaster.pid").read_text().split("\n", 1)[0].strip()
    except FileNotFoundError:
        return False
    if not Path("/proc/self/cmdline").exists():
        return True
    try:
        return os.fsencode(pgdata) in Path("/proc", pid, "cmdline").read_bytes()
    except FileNotFoundError:
        return False


def stop_server(pg_ctl: str, pgdata: Path) -> None:
    if not server_runs(pgdata):
        return
    owner = pgdata.stat()
    if os.geteuid() == 0:
        # pg_ctl refuses to run as root, and this process has nothing left to do after it.
        os.setgroups([])
        os.setgid(owner.st_gid)
        os.setuid(owner.st_uid)
    command = [pg_ctl, "-D", str(pgdata), "-m", "fast", "-w", "-t", "60", "stop"]
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603 - the wheel's own program


def main(pg_ctl: str, pgdata: str, mutex_path: str, users_path: str, guard_path: str) -> None:
    guard, users, mutex = (os.open(path, os.O_RDWR | os.O_CREAT, 0o600) for path in (guard_path, users_path, mutex_path))
    try:
        fcntl.flock(guard, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    # The lock is taken before the process that started the guard goes on, so that the server is never without one.
    if os.fork():
        os._exit(0)
    os.setsid()
    os.chdir("/")
    wait_until_unused(users, mutex)
    stop_server(pg_ctl, Path(pgdata))
    # Before the mutex: the process that gets that next must see that no guard watches any more.
    os.close(guard)


if __name__ == "__main__":
    main(*sys.argv[1:])
