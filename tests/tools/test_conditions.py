"""A template's conditions are resolved.

Invariants:
- what a condition decides is there or not, in properties, lists, resources and outputs, the rest as it was;
- a condition that does not exist is refused by name; a file that cannot be read is too.
"""

import json
from pathlib import Path

import pytest

from cronce_tools.conditions import main, resolved

IF = {"Fn::If": ["Own", {"Ref": "Key"}, {"Ref": "AWS::NoValue"}]}
TEMPLATE = {
    "Conditions": {"Own": {}, "Other": {}},
    "Resources": {
        "Table": {
            "Type": "T",
            "Properties": {"Key": IF, "List": [1, IF], "Size": {"Fn::If": ["Other", 1, 2]}},
        },
        "Extra": {"Type": "T", "Condition": "Own", "Properties": {}},
    },
    "Outputs": {"Extra": {"Condition": "Other", "Value": 1}},
}


def test_with_a_condition_its_branch_is_taken() -> None:
    assert resolved(TEMPLATE, {"Own"}) == {
        "Resources": {
            "Table": {
                "Type": "T",
                "Properties": {"Key": {"Ref": "Key"}, "List": [1, {"Ref": "Key"}], "Size": 2},
            },
            "Extra": {"Type": "T", "Properties": {}},
        },
        "Outputs": {},
    }


def test_without_it_nothing_of_it_is_there() -> None:
    assert resolved(TEMPLATE, set())["Resources"] == {
        "Table": {"Type": "T", "Properties": {"List": [1], "Size": 2}}
    }


def test_a_condition_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="no condition Onw"):
        resolved(TEMPLATE, {"Onw"})


def test_as_a_script_it_takes_every_option(tmp_path: Path) -> None:
    source, target = tmp_path / "in.json", tmp_path / "out.json"
    parameters = {"Key": {"Type": "String", "Default": ""}, "Days": {"Type": "Number", "Default": 7}}
    source.write_text(json.dumps({**TEMPLATE, "Parameters": parameters}))
    assert main([str(source), str(target)]) == 0
    assert json.loads(target.read_text()) == {
        **resolved(TEMPLATE, {"Own", "Other"}),
        "Parameters": {"Key": {"Type": "String"}, "Days": {"Type": "Number", "Default": 7}},
    }


@pytest.mark.parametrize("text", [None, "{"])
def test_a_file_that_cannot_be_read_is_named(
    tmp_path: Path, text: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "in.json"
    if text is not None:
        source.write_text(text)
    assert main([str(source), str(tmp_path / "out.json")]) == 1
    assert f"{source}: cannot be read" in capsys.readouterr().err
    assert main([]) == 2
