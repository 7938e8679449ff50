"""Resolve the conditions of a CloudFormation template: what is really made, with or without an option.

Checkov does not look into `Fn::If`: a role with one conditional statement passes all its checks unseen. Tests
want to see one deployment, not all of them at once. Works offline, as a plain script that takes every option:
`python -P tools/cronce_tools/conditions.py IN OUT`, both JSON.
"""

import json
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

USAGE = "usage: conditions.py TEMPLATE OUT"
NO_VALUE = {"Ref": "AWS::NoValue"}


def resolved(template: dict[str, Any], holding: Collection[str]) -> dict[str, Any]:
    """The template as it is when some of its conditions hold and the others do not.

    Args:
        template: a translated template.
        holding: the names of the conditions that hold.

    Returns:
        A template without `Fn::If`, without `AWS::NoValue`, and without the resources and outputs whose
        condition does not hold.

    Raises:
        ValueError: the template has no condition of such a name.
    """
    unknown = set(holding) - set(template.get("Conditions", {}))
    if unknown:
        raise ValueError(f"the template has no condition {', '.join(sorted(unknown))}")
    result: dict[str, Any] = _resolved(
        {key: value for key, value in template.items() if key != "Conditions"}, holding
    )
    for part in ("Resources", "Outputs"):
        result[part] = {
            name: {key: value for key, value in body.items() if key != "Condition"}
            for name, body in result.get(part, {}).items()
            if body.get("Condition") in {None, *holding}
        }
    return result


def _resolved(value: Any, holding: Collection[str]) -> Any:
    match value:
        case {"Fn::If": [str(name), then, otherwise]}:
            return _resolved(then if name in holding else otherwise, holding)
        case dict():
            parts = {key: _resolved(part, holding) for key, part in value.items()}
            return {key: part for key, part in parts.items() if part != NO_VALUE}
        case list():
            return [part for part in (_resolved(each, holding) for each in value) if part != NO_VALUE]
    return value


def main(arguments: list[str]) -> int:
    """Resolve the template named first, with all its conditions holding, into the file named second.

    Returns:
        0; 1 if the template cannot be read; 2 for wrong arguments.
    """
    if len(arguments) != 2:
        print(USAGE, file=sys.stderr)
        return 2
    source, target = map(Path, arguments)
    try:
        template = json.loads(source.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        print(f"{source}: cannot be read: {error}", file=sys.stderr)
        return 1
    everything = resolved(template, template.get("Conditions", {}))
    for parameter in everything.get("Parameters", {}).values():
        if parameter.get("Default") == "":
            del parameter["Default"]  # who takes an option gives it a value; Checkov would put the default in
    target.write_text(json.dumps(everything, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
