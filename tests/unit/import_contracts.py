"""The one import rule that import-linter has no contract for: a package of the standard library only.

A list of forbidden packages would be blind to the dependency added tomorrow; this says what is allowed.
"""

import sys

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


class OnlyStandardLibrary(Contract):
    """Of all that is outside the linted packages, `package` imports the standard library only."""

    package = fields.StringField()

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        package = str(self.package)
        breaches = [
            (importer, imported)
            for importer in sorted({package, *graph.find_descendants(package)})
            for imported in sorted(graph.find_modules_directly_imported_by(importer))
            if graph.is_module_squashed(imported)  # how grimp marks what is outside
            and imported.partition(".")[0] not in sys.stdlib_module_names
        ]
        return ContractCheck(kept=not breaches, metadata={"breaches": breaches, "graph": graph})

    def render_broken_contract(self, check: ContractCheck) -> None:
        for importer, imported in check.metadata["breaches"]:
            details = check.metadata["graph"].get_import_details(importer=importer, imported=imported)
            lines = ", ".join(f"l.{detail['line_number']}" for detail in details)
            output.print_error(f"-   {importer} -> {imported} ({lines})", bold=False)
