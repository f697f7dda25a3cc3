"""Jobs and the scheduler that runs them."""
