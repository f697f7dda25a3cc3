"""How signals become an order: pure functions of arrays, with every number in `profiles`."""
