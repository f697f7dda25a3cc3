"""Facts of a finished exchange between a person and an agent: what is worth remembering, in sentences of its own."""
