"""The models that ship with the package, their licence, and the script that makes them."""
