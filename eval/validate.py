"""Validate a JSON document against a JSON Schema (draft 2020-12).

Usage: validate.py SCHEMA DOCUMENT

Ends with 0 if the document fits, with 1 if it does not (each error on a line), and with 2 if it
cannot be told: a file that cannot be read, or a schema that is itself wrong.
"""

import json
import sys

FITS, DOES_NOT_FIT, UNKNOWN = 0, 1, 2


def main(arguments):
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return UNKNOWN
    try:
        import jsonschema

        schema, document = (read(path) for path in arguments)
        jsonschema.Draft202012Validator.check_schema(schema)
    except Exception as error:  # Whatever it is, nothing was validated.
        print(f"cannot validate {arguments[1]} against {arguments[0]}: {error}", file=sys.stderr)
        return UNKNOWN
    checker = jsonschema.Draft202012Validator.FORMAT_CHECKER
    validator = jsonschema.Draft202012Validator(schema, format_checker=checker)
    errors = sorted(validator.iter_errors(document), key=lambda error: error.json_path)
    for error in errors:
        print(f"{arguments[1]}: {error.json_path}: {error.message[:400]}")
    print(f"{arguments[1]}: {len(errors)} errors")
    return DOES_NOT_FIT if errors else FITS


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
