"""The documents a person gets: certificate, "no data", refusal and extension."""

from privacidad.escritos.emision import emitir, emitir_al_llegar

__all__ = ["emitir", "emitir_al_llegar"]
