"""`mnemonctl viz`: a store drawn as a page, as dot or as JSON."""
