"""Runs as spans of OpenTelemetry, by its semantic conventions for generative AI."""

from koogbook.features.open_telemetry.feature import OpenTelemetry as OpenTelemetry
