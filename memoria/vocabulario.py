"""The words of the trade, for notice search: which ones speak of the same thing, and which say nothing.

It is for any Spanish retailer and its suppliers: no product, brand or place is here. A word that ends in
``*`` stands for all that begin so; the others also stand for their plural. Accents do not matter. A group is
written for those who ask as much as for those who answer: "¿cierran en agosto?" should find "vacaciones del 3
al 24".

A word too many costs little: what is common among a supplier's notices weighs little. A word of two meanings
costs more, since a question on one finds the other and is then taken as answered.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from functools import cache
from typing import NamedTuple


class Afines(NamedTuple):
    """What else a question may mean by a word: whole words, and beginnings of words."""

    palabras: frozenset[str]
    comienzos: frozenset[str]


def afines(palabra: str) -> Afines | None:
    """The words of the groups that have ``palabra`` (in lower case, no accents); ``None`` when none has."""
    voces: set[str] = set()
    for forma in _formas(palabra):
        voces |= _voces_por_palabra().get(forma, frozenset())
    if not voces:
        return None
    return Afines(
        frozenset(v for v in voces if not v.endswith("*")),
        frozenset(v[:-1] for v in voces if v.endswith("*")),
    )


def es_generica(palabra: str) -> bool:
    """Whether the word says nothing of what is asked: "producto", "proveedor", "cambio"."""
    return not _genericas().isdisjoint(_formas(palabra))


@cache
def conocidas() -> Afines:
    """Every word and beginning of the groups."""
    voces = _voces_por_palabra()
    return Afines(
        frozenset(v for v in voces if not v.endswith("*")),
        frozenset(v[:-1] for v in voces if v.endswith("*")),
    )


def _formas(palabra: str) -> set[str]:
    """How the lists may have that word: as it is, in singular or plural, or as a beginning."""
    # A question's words come without their last s: of "meses" there is "mese" left.
    return {
        palabra,
        palabra.removesuffix("s"),
        palabra.removesuffix("es"),
        palabra.removesuffix("e"),
        f"{palabra}s",
    } | {f"{palabra[:n]}*" for n in range(2, len(palabra) + 1)}


@cache
def _voces_por_palabra() -> dict[str, frozenset[str]]:
    """For each word of the groups, all those it shares a group with."""
    juntas: dict[str, set[str]] = defaultdict(set)
    # A group is a line; what is indented goes on with the one above.
    for grupo in (linea.split() for linea in _sin_acentos(_GRUPOS).replace("\n    ", " ").splitlines()):
        for voz in grupo:
            juntas[voz].update(grupo)
    return {voz: frozenset(otras) for voz, otras in juntas.items()}


@cache
def _genericas() -> frozenset[str]:
    return frozenset(_sin_acentos(_GENERICAS).split())


def _sin_acentos(texto: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKD", texto) if not unicodedata.combining(c))


# -- the lists ------------------------------------------------------------------------------------

_GRUPOS = """
vacacion* cierr* cerrado cerrada cerramos cerrar parada parado paran parar paro festiv* fiesta
    puente inventario
verano estival junio julio agosto
navid* diciembre reyes
huelg* sindic* laboral* trabajador* plantilla piquete*
retras* demor* tarde tarda tardan tardar tardaran tardio atras* puntual* pospon* aplaz*
plazo semana dias urgen* rapid* tarda tardan
rotura falta faltan escas* desabastec* agot* suministr* servir sirve sirven servira serviran
    reposicion reaprovision* repon*
stock existencia* inventario cobertura
racion* cupo tope limit* maximo max restric* asigna* priori*
transport* camion* agencia furgon* conductor chofer repart* mensajer* ruta logistic* vehiculo
porte flete envio enviar gasto transport* recargo
recarg* suplement* sobrecoste
entreg* descarg* recepcion* recib* llega* llego muelle
minim* min
precio tarif* coste costes cuesta cuestan sube encarec* bajada bajan pvp caro carisimo
subida sube suben subir subieron encarec* increment* aument* alza caro disparad*
bajada bajan bajado baja abarat* barat* rebaj* reduc* menos
descuent* dto bonific* rappel oferta promo* rebaj* liquida* ganga saldo regalo gratis friday
volumen rappel objetivo
pago pagar pagan paguen cobr* vencimiento aplaz* contado tesoreri* finanz* financ*
anticip* adelant* aval* fianza prepago
factur* fra abono abonar contabil* cobran cobro cargo iva
devol* devuel* retorno retornar abono recog* sobra* sobran sobro excedent* invendid* rma
defect* tara tarado taras falla fallo fallan averi* desperfect* danad* golpe* abolla* mancha* raya*
    encog* gote* suelt* rompe* rompi* roto rota rotura
golpe* abolla* aplast* danad* danos desperfect* rotura roto rota desportill* desconch*
gote* pierde pierden perdida derram* fuga
queja quejan reclam* protest* insatisf* denunci*
incidenc* problema averi* queja reclam* fallo error
averi* repar* arregl* tecnic* recambio repuesto
garantia postventa reparacion sat
retir* alerta alert* bloque* inmoviliz* quitar quitad sacar sacad destru* apartar
segur* insegur* peligr* riesgo accident* lesion* herid* alerta caida
electric* enchufe cable bateria calient* recalient* cortocircuit* chispa
contact* comercial delegad* representante gestor gestora responsable interlocutor* persona telefon*
    tfno tlf movil llam* correo mail email buzon atiend* atenc*
direccion buzon correo mail email escrib*
jubil* sustitu* relev* reemplaz* marcha baja
descatalog* discontinu* desaparec* sustitu* deja dejan dejar extin* suprim* elimin*
novedad* nuev* lanz* amplia* alta estren* incorpor*
catalog* coleccion muestra muestrario showroom temporada feria
envas* embal* packaging caja blister bolsa formato carton bandeja estuche faja presentacion bote
    botella garrafa
etiquet* rotul* pegatina codigo ean barra
certific* sello homolog* normativ* norma iso fsc pefc msc gots acredit* auditor* oeko ifs brc ce
    marcado
ecolog* eco bio sostenib* organic* recicla* biodegrad* ambient*
madera forestal fsc pefc
exclusi*
competencia rival competidor*
solven* insolven* concurs* preconcurs* quiebr* impag* deuda liquidez financ* acreedor*
deben debe deuda adeud* pendiente cobr*
sociedad fusion* absor* comprado compran venta propietari* dueno grupo cif razon accionista*
iban cuenta banc* transferencia
caduc* preferente vida vence venc* consumo
manual* instruccion* montaje guia prospecto
idioma espanol castellano ingles portugues frances aleman traduc*
almacen* nave plataforma estanteria* hueco
cabe caben entra entran medida tamano altura ancho alto
horari* hora cita puntual*
fabric* planta produccion producir taller factoria
traslad* mudanza mudan obra reforma ampliacion
aduan* importacion arancel* despacho
contenedor barco buque embarque puerto maritim* naviera flete
inspecc* sancion* multa multar consumo sanidad requerimiento
incendi* quem* fuego arde inunda*
temporal nieve nevada lluvia tormenta inunda* carretera
equivoc* error errores erron* incorrect* incomplet* cruzad* confund* confusion mal
incomplet* falta faltan menos merma faltante
multiplo unidades uds piezas pzas
marketing publicidad folleto cartel* anunci*
expositor expon* lineal planograma implantac* mueble
prevision previsiones comprom* reserv* firme
edi electronic* portal web digital informatic*
alergen* ingrediente composicion receta gluten
toxic* quimic* corrosiv* inflamable adr ficha
higien* sanitari* contamin*
fraude estafa robo hurto suplant* phishing
temperatura frio frigor* refriger* congel* calor
muestra prueba probar degust* test
renov* prorrog* renueva* vigencia
contrato acuerdo acordad* firm* pact* convenio negoci*
sobra* excedent* invendid* liquida*
cantidad unidades volumen
"""

# They are looked for as any other, but whether they are found says nothing on whether there is an answer.
_GENERICAS = """
articulo producto referencia mercancia genero material pedido compra proveedor empresa compania tienda
cliente zona gama linea serie modelo marca importe cantidad unidad cambio cambia cambian modificacion
problema nuevo nueva proximo proxima alguno alguna algun dia semana mes ano temporada campana condicion
tema cosa aviso informacion dato euro hacer hace hacen hay puede pueden podemos pasa pasar paso viene
vienen queda quedan sale salen mas menos cuanto cuando cuanta si ultimo ultima general aparato nuestro
nuestra proveedores
"""
