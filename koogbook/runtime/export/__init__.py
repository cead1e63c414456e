"""A strategy in the forms of other tools."""

from koogbook.runtime.export.document import graph_from_json as graph_from_json
from koogbook.runtime.export.document import to_json as to_json
from koogbook.runtime.export.dot import to_dot as to_dot
from koogbook.runtime.export.mermaid import to_mermaid as to_mermaid
from koogbook.runtime.export.multigraph import to_networkx as to_networkx
