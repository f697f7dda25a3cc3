"""Facts of a finished exchange between a person and an agent, each a sentence that can be read alone."""
