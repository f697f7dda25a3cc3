"""What mnemond does with a memory, step by step: pure plans over snapshots, written as change sets."""
