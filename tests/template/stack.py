"""The translated template as the tests read it: what CloudFormation will make, not what the source says."""

import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cronce_tools.conditions import resolved

ROOT = Path(__file__).parents[2]
TRANSLATED = ".make/translated.json"

FUNCTIONS = ("SchedulerFunction", "DispatcherFunction", "ExecutorFunction", "WatchdogFunction")

SOURCE = (ROOT / "template.yaml").read_text()
MACHINERY = frozenset(
    re.findall(
        r"(?m)^  (\w+):$", SOURCE.partition("# From here on: the machinery.")[2].split("\nOutputs:")[0]
    )
)
"""What is not in the section "Your jobs": a fork's own resources are not judged by these tests."""

SUB_NAME = re.compile(r"\$\{([^!}.]+)[^}]*\}")

Properties = dict[str, Any]


def resource_label(value: object) -> str:
    """Name the resource of an intrinsic: `RunsTable`, `RunsTable.StreamArn`, `RunsTable/index/due`.

    The Arn of a resource and a Ref to it are the same thing here: the resource.
    """
    match value:
        case {"Ref": str(name)}:
            return name
        case {"Fn::GetAtt": [str(name), "Arn"]}:
            return name
        case {"Fn::GetAtt": [str(name), str(attribute)]}:
            return f"{name}.{attribute}"
        case {"Fn::Sub": str(text)}:
            return re.sub(r"\$\{(\w+)\.Arn\}", r"\1", text)
        case str(text):
            return text
    raise AssertionError(f"no resource: {value!r}")


def names_in(value: object) -> set[str]:
    """All names of parameters and resources that occur in a piece of a template."""
    match value:
        case {"Ref": str(name)}:
            return {name}
        case {"Fn::GetAtt": [str(name), *_]}:
            return {name}
        case {"Fn::Sub": str(text)}:
            return set(SUB_NAME.findall(text))
        case {"Fn::Sub": [str(text), dict(variables)]}:
            return set(SUB_NAME.findall(text)) - set(variables) | names_in(variables)
        case dict():
            return {name for part in value.values() for name in names_in(part)}
        case list():
            return {name for part in value for name in names_in(part)}
    return set()


def text_of(value: object) -> str:
    """The text of `Fn::Sub`, its own variables put in; names of the template stay in it."""
    match value:
        case {"Fn::Sub": [str(text), dict(variables)]}:
            for name, part in variables.items():
                text = text.replace(f"${{{name}}}", text_of(part))
            return text
        case {"Fn::Sub": str(text)} | str(text):
            return text
    raise AssertionError(f"no text: {value!r}")


def as_list(value: object) -> list[Any]:
    """One or many, as IAM and CloudFormation allow."""
    return value if isinstance(value, list) else [value]


@dataclass(frozen=True, kw_only=True)
class Stack:
    """A translated template."""

    template: dict[str, Any]

    @classmethod
    def load(cls) -> "Stack":
        """Translate the template, if that was not done since it changed, and read the result."""
        subprocess.run(["make", "-s", TRANSLATED], cwd=ROOT, check=True)
        return cls(template=json.loads((ROOT / TRANSLATED).read_text()))

    def under(self, *conditions: str) -> "Stack":
        """What is made when these conditions hold and no others."""
        return Stack(template=resolved(self.template, conditions))

    def resource(self, name: str) -> dict[str, Any]:
        """A whole resource; its policies and dependencies too."""
        resource: dict[str, Any] = self.template["Resources"][name]
        return resource

    def properties(self, name: str) -> Properties:
        """The properties of a resource."""
        properties: Properties = self.resource(name).get("Properties", {})
        return properties

    def of_type(self, kind: str) -> dict[str, Properties]:
        """The properties of all resources of a type, by name."""
        return {
            name: resource.get("Properties", {})
            for name, resource in self.template["Resources"].items()
            if resource["Type"] == kind
        }

    def environment(self, function: str) -> Properties:
        """The environment variables of a function."""
        variables: Properties = self.properties(function)["Environment"]["Variables"]
        return variables

    def statements(self, role: str) -> list[dict[str, Any]]:
        """The statements of a role's own policies."""
        policies = self.properties(role)["Policies"]
        return [statement for policy in policies for statement in policy["PolicyDocument"]["Statement"]]

    def grants(self, role: str) -> dict[str, set[str]]:
        """Actions by resource that a role's own policies allow."""
        return grants(self.statements(role))

    def needs(self, name: str) -> set[str]:
        """The resources that are made before this one, directly."""
        resource = self.resource(name)
        found = names_in(resource.get("Properties", {})) | set(as_list(resource.get("DependsOn", [])))
        return found & set(self.template["Resources"])

    def needs_at_last(self, name: str) -> set[str]:
        """The resources that are made before this one, directly or through others."""
        found: set[str] = set()
        waiting = [name]
        while waiting:
            fresh = self.needs(waiting.pop()) - found
            found |= fresh
            waiting.extend(fresh)
        return found


def grants(statements: list[dict[str, Any]]) -> dict[str, set[str]]:
    """Actions by resource that statements allow."""
    allowed: dict[str, set[str]] = {}
    for statement in statements:
        assert statement["Effect"] == "Allow", statement
        for resource in as_list(statement["Resource"]):
            allowed.setdefault(resource_label(resource), set()).update(as_list(statement["Action"]))
    return allowed
