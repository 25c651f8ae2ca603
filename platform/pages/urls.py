"""Addresses of the pages."""

from __future__ import annotations

from django.urls import path

from pages import views

app_name = "pages"
urlpatterns = [path("", views.home, name="home")]
