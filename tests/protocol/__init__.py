"""The wire: framing, envelopes, parameters, documentation."""
