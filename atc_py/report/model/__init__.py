"""Reports of one model: conversion, runs, memory, layout and precision."""
