"""Setup of agent programs: `mnemonctl setup`, and their checks in `mnemonctl doctor`."""
