"""What is always true of a store, each as one check that only looks (reliability, section 6)."""
