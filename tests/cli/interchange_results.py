"""Results of `mnemonctl export`, and what people read of them."""

from __future__ import annotations

from mnemond.api.types_interchange import ExportOpenResult

INTERCHANGE_RESULTS: dict[str, object] = {
    "export": ExportOpenResult(export="0123456789abcdef", store="default", whole=True, expected=1_200),
}

INTERCHANGE_TRANSCRIPTS = {
    "export": 'Export 0123456789abcdef of store "default", all of it: about 1,200 lines\n',
}
