"""
Render a Helm chart with Helm's own library; run by the Python of scripts/tools/install-helm.

    python render.py CHART <values.json

Prints the manifests as one YAML stream, after the chart's schema has taken the values.
"""

from __future__ import annotations

import json
import sys

from helm_python import Chart  # type: ignore[import-not-found]


def main() -> None:
    """Read values, print manifests."""
    values = json.load(sys.stdin)
    with Chart.load(sys.argv[1]) as chart:
        chart.validate_schema(values)
        manifests = chart.render(values, name="fim", namespace="default")
    print("\n---\n".join(manifests.values()))


if __name__ == "__main__":
    main()
