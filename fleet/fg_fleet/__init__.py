"""Profiles of a whole fleet: `fg-collapse` on Apache Spark, a Parquet data set, and questions to it."""

__version__ = "0.1.0"
