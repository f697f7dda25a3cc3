"""Telling agents' programs about mnemond: `mnemonctl setup`, and what `mnemonctl doctor` says of them."""
