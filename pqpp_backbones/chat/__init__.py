"""Chat models at an endpoint or in this process, within a spending limit."""
