"""The shape of the code, checked: layers, doors, sizes, names."""
