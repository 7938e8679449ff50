"""The values of a template as one deployment has them: parameters, conditions, and names of what was made.

What a value names is told apart by its name alone: a queue is its name whether the template says its ARN, its
URL or its name, since AWS answers with now one and now another. A function is called by the ARN of its alias.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from cronce_tools.conditions import resolved
from cronce_tools.local.template import Template, TemplateError

NAME_IN_TEXT = re.compile(r"\$\{([^!}]+)\}")
"""A name in a text of `Fn::Sub`."""
ALIAS = "Aliaslive"
"""What SAM appends to a function's name for its alias `live`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Deployment:
    """What CloudFormation says of a stack.

    Attributes:
        stack: its name.
        parameters: of the template, by name.
        names: what was made (its physical id) by its name in the template.
    """

    stack: str
    parameters: Mapping[str, str]
    names: Mapping[str, str]

    def name(self, logical_id: str) -> str:
        """The name of what was made.

        Raises:
            TemplateError: the stack has no such resource.
        """
        if logical_id not in self.names:
            raise TemplateError(f"the stack has no {logical_id}")
        return short(self.names[logical_id])

    def alias(self, function: str) -> str:
        """The ARN of a function's alias `live`, by which it is called.

        Raises:
            TemplateError: the stack has no such alias.
        """
        if (alias := self.names.get(f"{function}{ALIAS}")) is None:
            raise TemplateError(f"the stack has no alias `live` of {function}")
        return alias

    def of(self, template: Template) -> Deployment:
        """The same with the template's defaults for parameters that the stack does not have."""
        defaults = {name: str(each.get("Default", "")) for name, each in template.parameters.items()}
        return replace(self, parameters={**defaults, **self.parameters})

    def resolved(self, template: Template) -> Template:
        """The template without its conditions.

        Raises:
            TemplateError: it has one that is not understood.
        """
        conditions = template.body.get("Conditions", {})
        holding = [
            name for name, condition in conditions.items() if _holds(condition, self.parameters, conditions)
        ]
        body = resolved(template.body, holding)
        return Template(body["Resources"], template.parameters, body)

    def value(self, value: object) -> str:
        """A plain value, or the name of what it names.

        Raises:
            TemplateError: it is written in a way that is not understood, or names what the stack has not.
        """
        match value:
            case {"Ref": "AWS::StackName"}:
                return self.stack
            case {"Ref": str(name)} if name in self.parameters:
                return self.parameters[name]
            case {"Ref": str(name)} if name.endswith(".Alias"):
                return self.alias(name.removesuffix(".Alias"))
            case {"Ref": str(name)} | {"Fn::GetAtt": [str(name), *_]}:
                return self.name(name)
            case {"Fn::Sub": str(text)}:
                return NAME_IN_TEXT.sub(lambda found: self.value({"Ref": found[1]}), text)
            case dict() | list():
                raise TemplateError(f"the doctor does not understand {value!r} in the template")
        return str(value)

    def number(self, value: object) -> int:
        """A whole number.

        Raises:
            TemplateError: it is none.
        """
        text = self.value(value)
        try:
            return int(text)
        except ValueError:
            raise TemplateError(f"the template has {text!r} where a number belongs") from None


def short(identity: str) -> str:
    """The name at the end of an ARN, an address or an id. An ARN of a log group ends in `:*`."""
    text = identity.removesuffix(":*")
    if text.startswith("arn:"):
        kept = text.split(":", 5)[5]
        return kept if text.split(":")[2] == "logs" else kept.replace("/", ":").rsplit(":", 1)[-1]
    if "://" in text:
        return text.rsplit("/", 1)[-1]
    return text.rsplit("|", 1)[-1]  # a rule, after its bus


def _holds(condition: Any, given: Mapping[str, str], conditions: Mapping[str, Any]) -> bool:
    def text(value: object) -> str:
        return given.get(value["Ref"], "") if isinstance(value, dict) else str(value)

    match condition:
        case {"Fn::Equals": [one, other]}:
            return text(one) == text(other)
        case {"Fn::Not": [part]}:
            return not _holds(part, given, conditions)
        case {"Fn::And": [*parts]}:
            return all(_holds(part, given, conditions) for part in parts)
        case {"Fn::Or": [*parts]}:
            return any(_holds(part, given, conditions) for part in parts)
        case {"Condition": str(name)} if name in conditions:
            return _holds(conditions[name], given, conditions)
    raise TemplateError(f"the doctor does not understand the condition {condition!r} of the template")
