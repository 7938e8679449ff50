"""What makes a deploy fail, or two stacks meet, although every check of the source passes.

Invariants:
- no resource waits for itself;
- nothing has a fixed name, Region, partition or account: stacks live side by side, anywhere;
- a template that cannot be deployed is refused by the translation, with its name and the reason;
- every parameter explains itself, has a default that is allowed, and is used.
"""

import copy
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.template.stack import FUNCTIONS, ROOT, Stack, names_in

NAMES = re.compile(
    r"(Table|Queue|Topic|Role|Function|Alarm|LogGroup|ManagedPolicy|Rule|Layer|Bucket)Name", re.ASCII
)


def in_a_circle(stack: Stack) -> set[str]:
    """The resources that wait for themselves."""
    return {name for name in stack.template["Resources"] if name in stack.needs_at_last(name)}


def test_no_resource_waits_for_itself(stack: Stack) -> None:
    assert in_a_circle(stack) == set()


def test_a_role_that_names_its_own_function_is_found(stack: Stack) -> None:
    """The check above can fail: this mistake passes `sam validate --lint` and fails the deploy."""
    template = copy.deepcopy(stack.template)
    policies = template["Resources"]["ExecutorRole"]["Properties"]["Policies"]
    policies[0]["PolicyDocument"]["Statement"].append(
        {
            "Effect": "Allow",
            "Action": "lambda:InvokeFunction",
            "Resource": {"Ref": "ExecutorFunctionAliaslive"},
        }
    )
    assert {"ExecutorRole", "ExecutorFunction"} <= in_a_circle(Stack(template=template))


def test_an_environment_that_names_its_own_function_is_found(stack: Stack) -> None:
    template = copy.deepcopy(stack.template)
    variables = template["Resources"]["WatchdogFunction"]["Properties"]["Environment"]["Variables"]
    variables["SELF"] = {"Fn::Sub": "${WatchdogFunction.Arn}:live"}
    assert "WatchdogFunction" in in_a_circle(Stack(template=template))


def fixed_names(stack: Stack) -> list[str]:
    """Names of resources that do not depend on the stack."""
    return [
        f"{name}.{key}"
        for name, resource in stack.template["Resources"].items()
        for key, value in resource.get("Properties", {}).items()
        if NAMES.fullmatch(key) or (key == "Name" and resource["Type"] != "AWS::Lambda::Alias")
        if not names_in(value) & {"AWS::StackName", *stack.template["Resources"]}
    ]


def test_nothing_has_a_fixed_name(stack: Stack) -> None:
    assert fixed_names(stack) == []


def test_a_fixed_name_is_found(stack: Stack) -> None:
    template = copy.deepcopy(stack.template)
    template["Resources"]["RunsTable"]["Properties"]["TableName"] = "runs"
    template["Resources"]["NoticeTopic"]["Properties"]["TopicName"] = {"Ref": "LogLevel"}
    assert fixed_names(Stack(template=template)) == ["RunsTable.TableName", "NoticeTopic.TopicName"]


@pytest.mark.parametrize(
    "fixed",
    [
        r"arn:aws",
        r"\b(us|eu|ap|sa|ca|me|af|il|mx|cn)(-gov)?-[a-z]+-\d\b",
        r"\b\d{12}\b",
        r"amazonaws\.com\.cn",
    ],
    ids=["partition", "Region", "account", "domain"],
)
def test_no_region_partition_or_account_is_written_down(fixed: str) -> None:
    found = re.findall(fixed, (ROOT / "template.yaml").read_text())
    assert not found, "write !Sub with ${AWS::Partition}, ${AWS::Region}, ${AWS::AccountId} instead"


def parameters(stack: Stack) -> dict[str, dict[str, Any]]:
    declared: dict[str, dict[str, Any]] = stack.template["Parameters"]
    return declared


def test_every_parameter_explains_itself_and_has_a_default_that_is_allowed(stack: Stack) -> None:
    for name, parameter in parameters(stack).items():
        assert 20 < len(parameter["Description"]) <= 160, name
        default = parameter["Default"]
        assert default in parameter.get("AllowedValues", [default]), name
        assert re.fullmatch(parameter.get("AllowedPattern", ".*"), str(default)), name
        if parameter["Type"] == "Number":
            assert default >= parameter.get("MinValue", default), name
            assert default <= parameter.get("MaxValue", default), name


def test_every_parameter_is_used_and_shown_in_a_group(stack: Stack) -> None:
    used = names_in(stack.template["Resources"]) | names_in(stack.template["Conditions"])
    assert parameters(stack).keys() <= used
    groups = stack.template["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"]
    shown = [name for group in groups for name in group["Parameters"]]
    assert shown == list(parameters(stack))


def test_what_a_first_deployment_is_asked_for_begins_with_who_is_told(stack: Stack) -> None:
    """`sam deploy --guided` asks in this order; what is rarely touched comes last."""
    assert next(iter(parameters(stack))) == "NoticeEmail"
    assert list(parameters(stack))[-1] == "IdempotencyPrefix"


def test_the_defaults_are_those_of_the_documentation(stack: Stack) -> None:
    retention = parameters(stack)["RetentionDays"]
    assert (retention["Default"], retention["MinValue"]) == (400, 7)
    assert parameters(stack)["Architecture"]["Default"] == "arm64"
    assert parameters(stack)["ExecutorTimeout"]["Default"] == 900


@pytest.mark.parametrize(
    "address, accepted",
    [("", True), ("ops@example.com", True), ("ops@example", False), ("a@example.com, b@example.com", False)],
)
def test_a_notice_address_is_one_address_or_none(stack: Stack, address: str, accepted: bool) -> None:
    pattern = parameters(stack)["NoticeEmail"]["AllowedPattern"]
    assert bool(re.fullmatch(pattern, address)) is accepted


KEY = "1234abcd-12ab-34cd-56ef-1234567890ab"


@pytest.mark.parametrize(
    "parameter, value, accepted",
    [
        ("KmsKeyArn", "", True),
        ("KmsKeyArn", f"arn:aws:kms:eu-central-1:123456789012:key/{KEY}", True),
        ("KmsKeyArn", "arn:aws-cn:kms:cn-north-1:123456789012:key/mrk-" + 32 * "1", True),
        ("KmsKeyArn", "arn:aws:kms:eu-central-1:123456789012:alias/mine", False),
        ("KmsKeyArn", KEY, False),
        ("IdempotencyPrefix", "", True),
        ("IdempotencyPrefix", "old-shop", True),
        ("IdempotencyPrefix", "s" * 128, True),
        ("IdempotencyPrefix", "s" * 129, False),
        ("IdempotencyPrefix", "old/shop", False),
    ],
)
def test_a_malformed_option_is_refused_before_anything_is_made(
    stack: Stack, parameter: str, value: str, accepted: bool
) -> None:
    assert bool(re.fullmatch(parameters(stack)[parameter]["AllowedPattern"], value)) is accepted


def test_nobody_is_written_to_unless_an_address_is_given(stack: Stack) -> None:
    assert stack.resource("NoticeEmailSubscription")["Condition"] == "HasNoticeEmail"


def test_every_output_explains_itself_and_names_a_resource(stack: Stack) -> None:
    for name, output in stack.template["Outputs"].items():
        assert output["Description"], name
        assert names_in(output["Value"]) & stack.template["Resources"].keys(), name
        assert "Export" not in output, name


def translate(source: Path, target: Path) -> "subprocess.CompletedProcess[str]":
    script = ROOT / "tools/cronce_tools/translate.py"
    command = [str(part) for part in (ROOT / ".venv-sam/bin/python", "-P", script, source, target)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.usefixtures("stack")  # makes .venv-sam
@pytest.mark.parametrize(
    "text, reason",
    [
        (None, "cannot be read"),
        ("a: [", "cannot be read"),
        ("just text", "is not a template"),
        ("Resources:\n  F:\n    Type: AWS::Serverless::Function\n    Properties: {Handler: a.b}\n", "F"),
    ],
    ids=["no file", "no yaml", "no template", "refused"],
)
def test_a_template_that_cannot_be_deployed_is_refused_by_name(
    tmp_path: Path, text: str | None, reason: str
) -> None:
    source = tmp_path / "broken.yaml"
    if text is not None:
        source.write_text(text)
    done = translate(source, tmp_path / "out.json")
    assert done.returncode == 1
    assert str(source) in done.stderr
    assert reason in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out.json").exists()


@pytest.mark.usefixtures("stack")
def test_a_change_of_the_layer_alone_publishes_new_versions(stack: Stack, tmp_path: Path) -> None:
    """CloudFormation does not see it in the functions: the alias would keep the old layer."""
    source = tmp_path / "template.yaml"
    source.write_text(
        (ROOT / "template.yaml").read_text().replace("cronce and what it needs", "another layer")
    )
    target = tmp_path / "out.json"
    assert translate(source, target).returncode == 0
    changed = Stack(template=json.loads(target.read_text()))
    before, after = (set(each.of_type("AWS::Lambda::Version")) for each in (stack, changed))
    assert len(before) == len(after) == len(FUNCTIONS)
    assert not before & after
