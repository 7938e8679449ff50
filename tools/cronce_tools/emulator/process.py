"""The emulator as a process of this one: started on a loopback port, stopped by its own process id.

Its environment is made here and holds nothing of the caller's, since functions inherit it: no credentials, no
proxies, no settings of Python. Files go to a folder of its own, which goes with it. If this process dies, the
emulator ends by itself, because its standard input closes.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from cronce_tools.emulator.real_time import pause

ROOT = Path(__file__).resolve().parents[3]
PYTHON = ROOT / ".venv-emulator/bin/python"
LAUNCHER = Path(__file__).with_name("launch.py")

HOST = "127.0.0.1"
REGION = "eu-central-1"
START_SECONDS = 30.0
"""It takes half a second; much more on a machine that is busy."""
STOP_SECONDS = 5.0
LOOK_EVERY = 0.1
SHOWN_LINES = 20
"""Lines of its log that the message about a failed start shows."""


class EmulatorError(Exception):
    """The emulator cannot be started; the message says what to do."""


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """Where local AWS is, and how clients are pointed at it.

    Attributes:
        url: for `AWS_ENDPOINT_URL`.
        region: the only one that is used.
    """

    url: str
    region: str = REGION

    def environment(self) -> dict[str, str]:
        """Variables that point any AWS client at it, and away from the user's own account."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": self.region,
            "AWS_REGION": self.region,
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "AWS_EC2_METADATA_DISABLED": "true",
        }


class Emulator:
    """A context manager: local AWS runs within the block.

    Args:
        port: to listen on; a free one by default.
        enforce_iam: whether a function may only do what its role allows.
        python: the interpreter of the emulator's environment.
    """

    def __init__(self, *, port: int | None = None, enforce_iam: bool = True, python: Path = PYTHON) -> None:
        self._port = port
        self._enforce_iam = enforce_iam
        self._python = python
        self._process: subprocess.Popen[bytes] | None = None
        self.folder = Path()
        self.endpoint = Endpoint(url="")

    def __enter__(self) -> Self:
        """Start it and wait until it answers.

        Raises:
            EmulatorError: the port is taken, the environment is not there, or it does not come up.
        """
        if not self._python.exists():
            raise EmulatorError(f"{self._python} is missing: `make .venv-emulator/ready` makes it")
        port = free_port() if self._port is None else unused_port(self._port)
        self.endpoint = Endpoint(url=f"http://{HOST}:{port}")
        self.folder = Path(tempfile.mkdtemp(prefix="cronce-emulator-"))
        try:
            self._start(port)
            self._wait_until_healthy()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop it."""
        self.stop()

    @property
    def pid(self) -> int:
        """Its process id."""
        if self._process is None:
            raise EmulatorError("the emulator is not running")
        return self._process.pid

    @property
    def log(self) -> Path:
        """What it writes; gone once it is stopped."""
        return self.folder / "emulator.log"

    def stop(self) -> None:
        """End it and the functions' processes that it leaves, and remove its folder. Once is enough."""
        process, self._process = self._process, None
        if process is not None:
            process.terminate()
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            _end_group(process.pid)
            if process.stdin:
                process.stdin.close()
        if self.folder != Path():
            shutil.rmtree(self.folder, ignore_errors=True)

    def _start(self, port: int) -> None:
        environment = {
            "PATH": os.defpath,
            "HOME": str(self.folder),
            "TMPDIR": str(self.folder),
            "GATEWAY_PORT": str(port),
            "BIND_HOST": HOST,
            "MINISTACK_HOST": HOST,
            "MINISTACK_REGION": REGION,
            "IOT_MTLS_ENABLED": "0",
            "AUTH": "true" if self._enforce_iam else "false",
        }
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [self._python, "-P", LAUNCHER],
                cwd=self.folder,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # a group of its own: Ctrl-C reaches the caller, who then stops it
            )

    def _wait_until_healthy(self) -> None:
        assert self._process is not None  # noqa: S101 - started just now
        for _ in range(round(START_SECONDS / LOOK_EVERY)):
            if self._process.poll() is not None:
                raise EmulatorError(f"the emulator did not start:\n{self._last_lines()}")
            try:
                with urllib.request.urlopen(f"{self.endpoint.url}/_ministack/health", timeout=1):  # noqa: S310
                    return
            except (OSError, urllib.error.URLError):
                pause(LOOK_EVERY)
        raise EmulatorError(f"the emulator did not answer in {START_SECONDS:.0f} s:\n{self._last_lines()}")

    def _last_lines(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-SHOWN_LINES:])


def free_port() -> int:
    """A loopback port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def unused_port(port: int) -> int:
    """The port itself.

    Raises:
        EmulatorError: it is no port, or somebody listens on it.
    """
    if not 0 < port < 65536:
        raise EmulatorError(f"{port} is no port: name one from 1 to 65535")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise EmulatorError(f"port {port} is taken ({error.strerror}): name another one") from None
    return port


def _end_group(group: int) -> None:
    """End what is left of a process group that was started here."""
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return
