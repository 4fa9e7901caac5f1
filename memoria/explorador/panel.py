from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render


@login_required
def panel(request: HttpRequest) -> HttpResponse:
    """What needs this person today."""
    return render(request, "panel.html")
