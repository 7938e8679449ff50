"""Write the CloudFormation template that `template.yaml` becomes at a deploy.

The second lint and the tests of the template need it: a role that names its own function, for example, passes
every check of the source and fails the deploy. Works offline, without credentials, in .venv-sam, as a
plain script: `.venv-sam/bin/python -P tools/cronce_tools/translate.py IN OUT`.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

import yaml
from samtranslator.model.exceptions import InvalidDocumentException
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator
from samtranslator.yaml_helper import yaml_parse

USAGE = "usage: translate.py TEMPLATE OUT"

# The translator asks for a Region only to learn its partition; no call is made. Any Region of `aws` will do.
ANY_REGION = "us-east-1"

# Code is uploaded before a template is translated, so the translator wants an address instead of a folder.
CODE_PROPERTIES = {"AWS::Serverless::Function": "CodeUri", "AWS::Serverless::LayerVersion": "ContentUri"}
ANY_ADDRESS = "s3://bucket/key"


class TranslationError(Exception):
    """The template is not one that CloudFormation would take."""


def translate(source: Path) -> dict[str, Any]:
    """Return the translated template, with the default of every parameter.

    Args:
        source: the SAM template.

    Raises:
        TranslationError: the file cannot be read or the translator refuses it; it says why.
    """
    os.environ.setdefault("AWS_DEFAULT_REGION", ANY_REGION)
    try:
        template = yaml_parse(source.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise TranslationError(f"{source}: cannot be read: {error}") from error
    if not isinstance(template, dict) or not isinstance(template.get("Resources"), dict):
        raise TranslationError(f"{source}: is not a template: it has no Resources")
    _replace_code(template)
    try:
        translated: dict[str, Any] = Translator({}, Parser()).translate(template, {})
    except InvalidDocumentException as error:
        causes = "\n  ".join(cause.message for cause in error.causes) or error.message
        raise TranslationError(f"{source}: the translator refuses it:\n  {causes}") from error
    return translated


def _replace_code(template: dict[str, Any]) -> None:
    """Put an address where the folders of code are named."""
    code = template.get("Globals", {}).get("Function", {})
    if "CodeUri" in code:
        code["CodeUri"] = ANY_ADDRESS
    for resource in template["Resources"].values():
        name = CODE_PROPERTIES.get(resource.get("Type"))
        if name and name in resource.get("Properties", {}):
            resource["Properties"][name] = ANY_ADDRESS


def main(arguments: list[str]) -> int:
    """Translate the template named first into the file named second.

    Returns:
        0; 1 if the template is refused; 2 for wrong arguments.
    """
    if len(arguments) != 2:
        print(USAGE, file=sys.stderr)
        return 2
    source, target = map(Path, arguments)
    try:
        translated = translate(source)
    except TranslationError as error:
        print(error, file=sys.stderr)
        return 1
    target.write_text(json.dumps(translated, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
