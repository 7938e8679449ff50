"""Reads template.yaml, so that everything local runs on what is deployed: its tables, filter and alarms.

CloudFormation's short forms become their long ones (`!Ref X` -> {"Ref": "X"}); nothing is resolved.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

TEMPLATE = Path(__file__).resolve().parents[3] / "template.yaml"
Resource = dict[str, Any]


class TemplateError(Exception):
    """The template lacks something that the local stack needs."""


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # the C one is ten times faster
    """YAML with CloudFormation's tags."""


def _tag(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> dict[str, object]:
    name = suffix if suffix in {"Ref", "Condition"} else f"Fn::{suffix}"
    value: object
    if isinstance(node, yaml.ScalarNode):
        value = loader.construct_scalar(node)
        if suffix == "GetAtt" and isinstance(value, str):
            value = value.split(".", 1)
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    elif isinstance(node, yaml.MappingNode):
        value = loader.construct_mapping(node, deep=True)
    else:
        raise TemplateError(f"a YAML node of an unknown kind: {node!r}")
    return {name: value}


_Loader.add_multi_constructor("!", _tag)


@dataclass(frozen=True)
class Template:
    """A loaded template; `body` is all of it."""

    resources: dict[str, Resource]
    parameters: dict[str, dict[str, Any]]
    body: dict[str, Any]

    @classmethod
    def load(cls, path: Path = TEMPLATE) -> Template:
        """Read a template file.

        Raises:
            TemplateError: it is not there, or is no template.
        """
        try:
            text = path.read_text()
        except OSError as error:
            raise TemplateError(f"{path}: {error.strerror}") from None
        return cls.parse(text, str(path))

    @classmethod
    def parse(cls, text: str, source: str) -> Template:
        """Read a template's text.

        Args:
            text: YAML or JSON.
            source: what it is called in messages.

        Raises:
            TemplateError: it is no template.
        """
        try:
            body = yaml.load(text, Loader=_Loader)  # noqa: S506 - a SafeLoader with tags added
        except yaml.YAMLError as error:
            raise TemplateError(f"{source} cannot be read: {error}") from None
        if not isinstance(body, dict) or not isinstance(body.get("Resources"), dict):
            raise TemplateError(f"{source} has no Resources")
        return cls(body["Resources"], body.get("Parameters", {}), body)

    def properties(self, logical_id: str) -> dict[str, Any]:
        """Properties of a resource.

        Raises:
            TemplateError: there is no such resource.
        """
        if logical_id not in self.resources:
            raise TemplateError(f"the template has no resource {logical_id}")
        properties: dict[str, Any] = self.resources[logical_id].get("Properties", {})
        return properties

    def of_type(self, kind: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Logical id and properties of each resource of a type."""
        for logical_id, resource in self.resources.items():
            if resource.get("Type") == kind:
                yield logical_id, resource.get("Properties", {})

    def table(self, logical_id: str, name: str) -> dict[str, Any]:
        """Arguments of `CreateTable` for a table of the template, under another name."""
        properties = self.properties(logical_id)
        keep = ("KeySchema", "AttributeDefinitions", "GlobalSecondaryIndexes", "BillingMode")
        arguments: dict[str, Any] = {key: properties[key] for key in keep if key in properties}
        if "StreamSpecification" in properties:
            arguments["StreamSpecification"] = {"StreamEnabled": True, **properties["StreamSpecification"]}
        return {"TableName": name, **arguments}

    def mapping(self) -> dict[str, Any]:
        """Properties of the mapping from the runs table's stream to the dispatcher.

        Raises:
            TemplateError: there is not exactly one.
        """
        found = [properties for _, properties in self.of_type("AWS::Lambda::EventSourceMapping")]
        for _, properties in self.of_type("AWS::Serverless::Function"):
            events = properties.get("Events", {}).values()
            found += [event["Properties"] for event in events if event["Type"] == "DynamoDB"]
        if len(found) != 1:
            raise TemplateError(f"the template has {len(found)} stream mappings, not one")
        return found[0]

    def filters(self) -> list[str]:
        """The mapping's filter patterns, as JSON text."""
        return [entry["Pattern"] for entry in self.mapping()["FilterCriteria"]["Filters"]]
