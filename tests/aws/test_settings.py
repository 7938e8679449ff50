"""Settings read from the environment.

Invariants:
- a function asks for what it uses and for nothing else;
- every missing or malformed variable is named with what it holds and what it takes, all of them at once.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

import cronce
from cronce.aws import settings
from cronce.core.errors import SettingsError

STORE = {"CRONCE_STACK": "shop", "CRONCE_RUNS_TABLE": "shop-Runs-1", "CRONCE_STEPS_TABLE": "shop-Steps-1"}
EXECUTOR = "arn:aws:lambda:eu-central-1:123456789012:function:shop-Executor-1:live"
TOPIC = "arn:aws:sns:eu-central-1:123456789012:shop-Notices-1"
ENVIRONMENTS: dict[str, dict[str, str]] = {
    "scheduler": {**STORE, "CRONCE_EXECUTOR": EXECUTOR},
    "dispatcher": {"CRONCE_STACK": "shop", "CRONCE_EXECUTOR": EXECUTOR},
    "executor": STORE,
    "watchdog": {**STORE, "CRONCE_TOPIC_ARN": TOPIC},
}
READERS: dict[str, Callable[[settings.Environment | None], object]] = {
    "scheduler": settings.scheduler_settings,
    "dispatcher": settings.dispatcher_settings,
    "executor": settings.executor_settings,
    "watchdog": settings.watchdog_settings,
}
KEPT = settings.StoreSettings(
    runs_table="shop-Runs-1", steps_table="shop-Steps-1", retention=timedelta(days=400)
)


def test_each_function_reads_what_it_is_told() -> None:
    read = {name: READERS[name](ENVIRONMENTS[name]) for name in READERS}

    assert read == {
        "scheduler": settings.SchedulerSettings(stack="shop", store=KEPT, executor=EXECUTOR),
        "dispatcher": settings.DispatcherSettings(stack="shop", executor=EXECUTOR),
        "executor": settings.ExecutorSettings(stack="shop", store=KEPT, idempotency_prefix="shop"),
        "watchdog": settings.WatchdogSettings(stack="shop", store=KEPT, topic_arn=TOPIC),
    }


def test_the_process_environment_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ENVIRONMENTS["dispatcher"].items():
        monkeypatch.setenv(name, value)

    assert settings.dispatcher_settings().executor == EXECUTOR


@pytest.mark.parametrize(
    "function, variable", [(name, variable) for name in READERS for variable in ENVIRONMENTS[name]]
)
def test_a_variable_that_is_missing_is_named_with_what_it_takes(function: str, variable: str) -> None:
    without = {name: value for name, value in ENVIRONMENTS[function].items() if name != variable}

    with pytest.raises(
        SettingsError, match=f"^settings of the {function}: {variable} is not set; it takes the "
    ):
        READERS[function](without)


@pytest.mark.parametrize(
    "function, variable", [(name, variable) for name in READERS for variable in ENVIRONMENTS[name]]
)
def test_a_variable_that_is_empty_is_named_with_what_it_takes(function: str, variable: str) -> None:
    with pytest.raises(
        SettingsError, match=f"^settings of the {function}: {variable} is empty; it takes the "
    ):
        READERS[function]({**ENVIRONMENTS[function], variable: ""})


@pytest.mark.parametrize(
    "function, variable, value",
    [
        ("scheduler", "CRONCE_STACK", "my stack"),
        ("scheduler", "CRONCE_STACK", "shop/eu"),
        ("scheduler", "CRONCE_RUNS_TABLE", "ab"),
        ("scheduler", "CRONCE_STEPS_TABLE", "arn:aws:dynamodb:eu-central-1:123456789012:table/Steps"),
        ("scheduler", "CRONCE_EXECUTOR", "shop executor"),
        ("dispatcher", "CRONCE_EXECUTOR", TOPIC),
        ("watchdog", "CRONCE_JOB_METRICS", "yes"),
        ("watchdog", "CRONCE_TOPIC_ARN", "shop-Notices-1"),
        ("watchdog", "CRONCE_TOPIC_ARN", f"{TOPIC}.fifo"),
        ("watchdog", "CRONCE_TOPIC_ARN", f"{TOPIC}\n"),
        ("executor", "CRONCE_IDEMPOTENCY_PREFIX", "old shop"),
        ("executor", "CRONCE_IDEMPOTENCY_PREFIX", "shop/eu"),
        ("executor", "CRONCE_IDEMPOTENCY_PREFIX", "-shop"),
        ("executor", "CRONCE_IDEMPOTENCY_PREFIX", "s" * 129),
        ("executor", "CRONCE_RETENTION_DAYS", "6"),
        ("executor", "CRONCE_RETENTION_DAYS", "3651"),
        ("executor", "CRONCE_RETENTION_DAYS", "-400"),
        ("executor", "CRONCE_RETENTION_DAYS", "400 days"),
        ("executor", "CRONCE_RETENTION_DAYS", "7.5"),
        ("executor", "CRONCE_RETENTION_DAYS", "٤٠٠"),
        ("executor", "CRONCE_RETENTION_DAYS", ""),
    ],
)
def test_a_variable_that_is_malformed_is_named_with_what_it_holds(
    function: str, variable: str, value: str
) -> None:
    with pytest.raises(SettingsError) as raised:
        READERS[function]({**ENVIRONMENTS[function], variable: value})

    assert f"{variable} is {value[:100]!r}" in str(raised.value)
    assert "; it takes " in str(raised.value)


@pytest.mark.parametrize(
    "told, prefix",
    [
        ({}, "shop"),
        ({"CRONCE_IDEMPOTENCY_PREFIX": ""}, "shop"),
        ({"CRONCE_IDEMPOTENCY_PREFIX": "old-shop"}, "old-shop"),
    ],
)
def test_idempotency_keys_begin_with_the_stacks_name_unless_another_is_given(
    told: dict[str, str], prefix: str
) -> None:
    assert settings.executor_settings({**STORE, **told}).idempotency_prefix == prefix


PLACES = [
    ("executor", "CRONCE_PING_URLS", "ping_urls"),
    ("watchdog", "CRONCE_HEARTBEAT_URL", "heartbeat_url"),
]


@pytest.mark.parametrize("function, variable, field", PLACES)
@pytest.mark.parametrize("place", ["", "/shop/pings", "/a", "/Shop_1/x.y-z", "/" + 79 * "x"])
def test_where_a_ping_url_is_kept_is_a_name_or_empty(
    function: str, variable: str, field: str, place: str
) -> None:
    read = READERS[function]({**ENVIRONMENTS[function], variable: place})
    assert getattr(read, field) == place
    assert getattr(READERS[function](ENVIRONMENTS[function]), field) == ""


@pytest.mark.parametrize("function, variable, field", PLACES)
@pytest.mark.parametrize(
    "wrong",
    [
        "https://hc-ping.com/5ec2e7",
        "5ec2e7",
        "/5ec2e7/",
        "/5ec2e7//x",
        "/5ec2e7 x",
        "/5ec2e7\n",
        "/" + 80 * "5ec2e7",
    ],
)
def test_anything_else_is_refused_and_not_shown_because_it_may_be_the_url_itself(
    function: str, variable: str, field: str, wrong: str
) -> None:
    with pytest.raises(SettingsError, match=f"{variable} takes a name in SSM's Parameter Store") as raised:
        READERS[function]({**ENVIRONMENTS[function], variable: wrong})
    assert field
    assert "5ec2e7" not in str(raised.value)


@pytest.mark.parametrize("days, kept", [("7", 7), ("400", 400), ("3650", 3650)])
def test_retention_is_a_number_of_days(days: str, kept: int) -> None:
    read = settings.executor_settings({**STORE, "CRONCE_RETENTION_DAYS": days})

    assert read.store.retention == timedelta(days=kept)


@pytest.mark.parametrize(
    "executor", ["shop-Executor-1", "shop-Executor-1:live", EXECUTOR, EXECUTOR.removesuffix(":live")]
)
def test_the_executor_may_be_given_by_name_or_arn(executor: str) -> None:
    assert (
        settings.dispatcher_settings({"CRONCE_STACK": "shop", "CRONCE_EXECUTOR": executor}).executor
        == executor
    )


def test_one_table_for_runs_and_steps_is_refused() -> None:
    with pytest.raises(
        SettingsError, match="CRONCE_RUNS_TABLE and CRONCE_STEPS_TABLE are both 'shop-Runs-1'"
    ):
        settings.executor_settings({**STORE, "CRONCE_STEPS_TABLE": "shop-Runs-1"})


def test_all_problems_are_reported_at_once() -> None:
    with pytest.raises(SettingsError) as raised:
        settings.watchdog_settings({"CRONCE_STACK": "my stack", "CRONCE_RETENTION_DAYS": "1"})

    message = str(raised.value)
    for variable in (
        "CRONCE_STACK",
        "CRONCE_RUNS_TABLE",
        "CRONCE_STEPS_TABLE",
        "CRONCE_RETENTION_DAYS",
        "CRONCE_TOPIC_ARN",
    ):
        assert message.count(variable) == 1


def test_a_long_wrong_value_is_shown_in_part() -> None:
    with pytest.raises(SettingsError) as raised:
        settings.dispatcher_settings({"CRONCE_STACK": "x" * 5000, "CRONCE_EXECUTOR": EXECUTOR})

    assert len(str(raised.value)) < 300


def test_no_other_module_reads_the_environment() -> None:
    package = Path(cronce.__file__ or cronce.__path__[0])
    package = package if package.is_dir() else package.parent
    readers = [
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if any(word in path.read_text("utf-8") for word in ("os.environ", "os.getenv", "from os import"))
    ]

    assert readers == ["aws/settings.py"]
