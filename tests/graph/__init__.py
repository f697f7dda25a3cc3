"""Tests of the edge builders."""
